/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest user of an installed Waypost. */
#include <stdio.h>
#include <waypost/waypost.h>

int main(void)
{
    printf("%s\n", wp_version());
    return 0;
}
