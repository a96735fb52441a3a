/* SPDX-License-Identifier: Apache-2.0 */
/* The tests' own proxy, between two sockets of this process. */
#include "support/proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/wpt.h"

typedef struct net {
    int listener;
    proxy *proxy;
} net;

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int setup(void **state)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    net *n = calloc(1, sizeof *n);
    assert_non_null(n);
    n->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(n->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(n->listener, 8), 0);
    assert_int_equal(getsockname(n->listener, (struct sockaddr *)&address, &size), 0);
    n->proxy = proxy_open(ntohs(address.sin_port));
    *state = n;
    return 0;
}

static int teardown(void **state)
{
    net *n = *state;
    proxy_close(n->proxy);
    (void)close(n->listener);
    free(n);
    return 0;
}

static int join(net *n)
{
    const struct sockaddr_in address = loopback(proxy_port(n->proxy));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Just this comes next. */
static void hears(int fd, const char *text)
{
    char got[64] = "";
    size_t len = 0;
    while (len < strlen(text)) {
        ssize_t more = recv(fd, got + len, strlen(text) - len, 0);
        assert_true(more > 0);
        len += (size_t)more;
    }
    assert_memory_equal(got, text, len);
}

static void hears_the_end(int fd)
{
    char byte;
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    (void)close(fd);
}

static bool is_silent(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 20) == 0;
}

static void connect_pair(net *n, int *client, int *server)
{
    *client = join(n);
    *server = accept(n->listener, NULL, NULL);
    assert_true(*server >= 0);
}

static void test_proxy__forwards__both_ways_until_either_ends(void **state)
{
    net *n = *state;
    int client, server;
    connect_pair(n, &client, &server);
    say(client, "question");
    hears(server, "question");
    say(server, "answer");
    hears(client, "answer");
    (void)close(client);
    hears_the_end(server);
    WPT_AWAIT(proxy_standing(n->proxy) == 0);
    assert_int_equal(proxy_accepted(n->proxy), 1);
}

static void test_proxy__cut__both_sides_hear_of_it(void **state)
{
    net *n = *state;
    int client, server;
    connect_pair(n, &client, &server);
    proxy_cut(n->proxy);
    hears_the_end(client);
    hears_the_end(server);
}

static void test_proxy__stalled__nothing_arrives_until_it_goes_on(void **state)
{
    net *n = *state;
    int client, server;
    connect_pair(n, &client, &server);
    proxy_set(n->proxy, PROXY_STALL);
    say(client, "late");
    assert_true(is_silent(server));
    proxy_set(n->proxy, PROXY_FORWARD);
    hears(server, "late");
    (void)close(client);
    (void)close(server);
}

static void test_proxy__black_hole__what_was_sent_is_lost_and_so_is_the_connection(void **state)
{
    net *n = *state;
    int client, server, other, other_server;
    connect_pair(n, &client, &server);
    connect_pair(n, &other, &other_server);
    proxy_set(n->proxy, PROXY_BLACK_HOLE);
    say(client, "lost");
    assert_true(is_silent(server));
    assert_int_equal(proxy_swallowed(n->proxy), 1);
    proxy_set(n->proxy, PROXY_FORWARD);
    say(client, "lost, too");
    say(other, "heard"); /* it sent nothing while it was on */
    hears(other_server, "heard");
    assert_true(is_silent(server));
    (void)close(client);
    (void)close(server);
    (void)close(other);
    (void)close(other_server);
}

static void test_proxy__refuses__new_connections_only(void **state)
{
    net *n = *state;
    int client, server, refused;
    connect_pair(n, &client, &server);
    proxy_set(n->proxy, PROXY_REFUSE);
    refused = join(n);
    hears_the_end(refused);
    say(client, "still here");
    hears(server, "still here");
    (void)close(client);
    (void)close(server);
}

static void test_proxy__cut_before_a_text__the_server_does_not_get_it(void **state)
{
    net *n = *state;
    int client, server;
    connect_pair(n, &client, &server);
    proxy_cut_at(n->proxy, "COMMIT", PROXY_BEFORE);
    say(client, "COMMITTED COM");
    hears(server, "COMMITTED COM");
    assert_int_equal(proxy_fired(n->proxy), 0);
    say(client, "MIT");
    hears_the_end(server);
    hears_the_end(client);
    assert_int_equal(proxy_fired(n->proxy), 1);
}

static void test_proxy__cut_after_a_text__the_client_does_not_get_the_answer(void **state)
{
    net *n = *state;
    int client, server;
    connect_pair(n, &client, &server);
    proxy_cut_at(n->proxy, "COMMIT", PROXY_AFTER);
    say(client, "COMMIT");
    hears(server, "COMMIT");
    assert_int_equal(proxy_fired(n->proxy), 0);
    say(server, "done");
    hears_the_end(client);
    hears_the_end(server);
    assert_int_equal(proxy_fired(n->proxy), 1);
    connect_pair(n, &client, &server); /* once, not each time */
    say(client, "COMMIT");
    hears(server, "COMMIT");
    say(server, "done");
    hears(client, "done");
    (void)close(client);
    (void)close(server);
}

static void test_proxy__lost_at_a_text__nobody_hears_of_it(void **state)
{
    net *n = *state;
    int client, server;
    connect_pair(n, &client, &server);
    proxy_lose_at(n->proxy, "COMMIT");
    say(client, "COMMIT");
    WPT_AWAIT(proxy_fired(n->proxy) == 1);
    say(server, "hello?");
    assert_true(is_silent(client));
    (void)close(client);
    assert_true(is_silent(server)); /* not even of that */
    assert_int_equal(proxy_standing(n->proxy), 1);
    (void)close(server);
    WPT_AWAIT(proxy_standing(n->proxy) == 0);
}

static void test_proxy__url__the_same_with_its_port(void **state)
{
    net *n = *state;
    char url[64], want[64];
    proxy_url(url, sizeof url, n->proxy, "postgresql://me@127.0.0.1:5432/db");
    (void)snprintf(want, sizeof want, "postgresql://me@127.0.0.1:%d/db", proxy_port(n->proxy));
    assert_string_equal(url, want);
    assert_int_equal(proxy_port_of(url), proxy_port(n->proxy));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_proxy__forwards__both_ways_until_either_ends),
        TEST(test_proxy__cut__both_sides_hear_of_it),
        TEST(test_proxy__stalled__nothing_arrives_until_it_goes_on),
        TEST(test_proxy__black_hole__what_was_sent_is_lost_and_so_is_the_connection),
        TEST(test_proxy__refuses__new_connections_only),
        TEST(test_proxy__cut_before_a_text__the_server_does_not_get_it),
        TEST(test_proxy__cut_after_a_text__the_client_does_not_get_the_answer),
        TEST(test_proxy__lost_at_a_text__nobody_hears_of_it),
        TEST(test_proxy__url__the_same_with_its_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
