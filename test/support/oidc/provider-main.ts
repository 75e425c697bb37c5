/**
 * An OpenID Connect provider as a process of its own. Prints its issuer. `POST /test/claims` sets the claims of a person, who
 * signs in with `sub` and any password.
 *
 * Environment: `OIDC_REDIRECT_URI`, `OIDC_SECRET`, `OIDC_CLOCK_SHIFT_S`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

const { OIDC_REDIRECT_URI: redirectUri, OIDC_SECRET: secret, OIDC_CLOCK_SHIFT_S: shift } = process.env;

if (Number(shift ?? 0) !== 0) {
  const own = Date.now.bind(Date);
  Date.now = () => own() + Number(shift) * 1000;
}

const { default: Provider } = await import("oidc-provider");

const people = new Map<string, unknown>();

async function setClaims(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const claims = (await json(request)) as { readonly sub: string };
  people.set(claims.sub, claims);
  response.end();
}

const server = createServer();
// A client that gets no time for some seconds finds its connection open: Node.js closes idle ones after five.
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: InstanceType<typeof Provider> = new Provider(issuer, {
    clients: [
      {
        client_id: "edge-control",
        client_secret: secret,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups", "realm_access"] },
    cookies: { keys: ["key of this test"] },
    pkce: { required: () => true },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => people.get(id) ?? { sub: id },
    }),
    // Nobody is asked for consent.
    loadExistingGrant: async ({ oidc }: { oidc: { client: { clientId: string }; session: { accountId: string } } }) => {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope("openid email profile");
      await grant.save();
      return grant;
    },
  });
  const respond = provider.callback();
  server.on("request", (request, response) => {
    if (request.url === "/test/claims") void setClaims(request, response);
    else respond(request, response);
  });
  process.stdout.write(`issuer ${issuer}\n`);
});
