import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { OidcProvider } from "../../../src/control-plane/accounts/oidc/provider.ts";
import { oidcSettingsOf } from "../../../src/control-plane/config/oidc-config.ts";
import { configSchema } from "../../../src/control-plane/config/config.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { OidcRig } from "../../support/oidc/oidc-rig.ts";

test("callbacks that somebody made up are soon passed on no longer", async () => {
  await using rig = await OidcRig.start();
  // No time passes, in which some more would be let through.
  await using _running = await rig.serve({}, new FakeClock(Date.now()));
  const locations: (string | null)[] = [];
  for (let attempt = 0; attempt < 60; attempt++) {
    const kept = { state: "made-up", nonce: "n", verifier: "v".repeat(43) };
    const cookies = [
      `edge_oidc=${Buffer.from(JSON.stringify(kept)).toString("base64url")}`,
      `edge_browser=eb_${String(attempt).padStart(43, "A")}`,
    ];
    const url = `${rig.base}/v1/oidc/callback?state=made-up&code=${attempt}&iss=${encodeURIComponent(rig.provider.issuer)}`;
    const response = await fetch(url, { redirect: "manual", headers: { Cookie: cookies.join("; ") } });
    locations.push(response.headers.get("location"));
  }
  const asked = rig.log.text().split("the identity provider did not confirm a sign-in").length - 1;
  expect(asked).toBeGreaterThan(5);
  expect(asked).toBeLessThan(30);
  expect(locations.at(-1)).toBe("/sign-in?failure=TooManyRequests");
});

test("a refused code is no reason to ask the provider for its settings again, and another failure once a minute", async () => {
  const asked = { settings: 0, tokens: 0 };
  let error = "invalid_grant";
  const server = createServer((request, response) => {
    response.setHeader("Content-Type", "application/json");
    if (request.url?.startsWith("/.well-known/")) {
      asked.settings++;
      response.end(
        JSON.stringify({ issuer, token_endpoint: `${issuer}/token`, authorization_endpoint: `${issuer}/auth` }),
      );
      return;
    }
    asked.tokens++;
    response.writeHead(400).end(JSON.stringify({ error }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = oidcSettingsOf(
    configSchema.parse({ public_url: "http://127.0.0.1:1", oidc_issuer: issuer, oidc_client_id: "edge-control" }),
  )!;
  const clock = new FakeClock();
  const provider = new OidcProvider(settings, clock);
  const checks = { state: "s", nonce: "n", verifier: "v".repeat(43) };
  const exchange = () => expect(provider.exchange(`?state=s&code=c`, checks)).rejects.toThrow();
  for (let attempt = 0; attempt < 5; attempt++) {
    await clock.advance(61_000);
    await exchange();
  }
  expect(asked).toEqual({ settings: 1, tokens: 5 });
  error = "invalid_client";
  for (let attempt = 0; attempt < 5; attempt++) await exchange();
  expect(asked).toEqual({ settings: 2, tokens: 10 });
  await clock.advance(61_000);
  await exchange();
  await exchange();
  expect(asked).toEqual({ settings: 3, tokens: 12 });
});
