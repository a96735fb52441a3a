// SPDX-License-Identifier: Apache-2.0
// Receives GitHub's webhooks: checks their signature, enqueues each delivery in the inbox, answers. GitHub
// and what is between deliver some of them twice: the handler runs once for each.
//
//     Webhook --secret SECRET [--database FILE] [--urls http://127.0.0.1:8080]
//     Webhook --check FOLDER      sends itself deliveries, again and at once; see Check.cs
using Webhook;

if (args is ["--check", string folder])
    return await Check.RunAsync(folder);
WebApplication app = Receiver.Build(WebApplication.CreateBuilder(args));
await app.RunAsync();
return 0;
