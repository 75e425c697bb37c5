import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PasswordHasher } from "../../../src/control-plane/accounts/password-hasher.ts";
import { type ControlPlane, startControlPlane, type TestAsset } from "../../support/control-plane.ts";
import { QUICK_HASH, someAudit, someUser } from "../../support/control-plane/people.ts";
import { attacksOn, openSocket } from "../../support/cross-site-attacks.ts";
import { launchBrowser } from "../../support/browser/browser.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { waitFor } from "../../support/wait-for.ts";

const PASSWORD = "a long way to the pump house";
const ATTACKER_PASSWORD = "another way to the pump house";

let resources: AsyncDisposableStack;
let control: ControlPlane;
let context: BrowserContext;
let page: Page;
let accountId: string;
let asset: TestAsset;
let userId: string;
/** Method, path and status of each response of the service to the browser, or why there was none. */
const answers: string[] = [];

beforeAll(async () => {
  resources = new AsyncDisposableStack();
  // The service does nothing by itself, such as to remove what is old.
  control = resources.use(await startControlPlane({ clock: new FakeClock(Date.now()) }));
  const account = await control.account();
  ({ accountId } = account);
  asset = await control.asset(account);
  const hasher = new PasswordHasher({ algorithm: QUICK_HASH });
  const passwordHash = await hasher.hash(PASSWORD, { source: "", goesFirst: false });
  const admin = someUser({ accountId, email: "ada@example.com", role: "admin", passwordHash });
  userId = admin.id;
  const attacker = someUser({
    accountId: (await control.account()).accountId,
    email: "attacker@example.com",
    passwordHash: await hasher.hash(ATTACKER_PASSWORD, { source: "", goesFirst: false }),
  });
  for (const user of [admin, attacker])
    await control.store.users.createUser(user, undefined, someAudit("user.created", user.accountId));

  const browser = await launchBrowser();
  resources.defer(() => browser.close());
  context = await browser.newContext();
  const note = (request: { method(): string; url(): string }, what: string): void => {
    const url = request.url();
    if (url.startsWith(control.url)) answers.push(`${request.method()} ${new URL(url).pathname} ${what}`);
  };
  context.on("response", (response) => note(response.request(), String(response.status())));
  context.on("requestfailed", (request) => note(request, "blocked"));
  page = await context.newPage();
  await page.goto(`${control.url}/healthz`);
  const status = await page.evaluate(
    async (body) => {
      const headers = { "Content-Type": "application/json" };
      return (await fetch("/v1/session", { method: "POST", headers, body })).status;
    },
    JSON.stringify({ email: admin.email, password: PASSWORD }),
  );
  expect(status).toBe(200);
});
afterAll(() => resources.disposeAsync());

/** Serves an empty page of another site. */
async function serveOtherSite(host: string): Promise<Server> {
  const server = createServer((_request, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>Another site</title><body></body>");
  });
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  return server;
}

/** Everything that an attack could change. */
async function everything(): Promise<unknown> {
  const { store } = control;
  const filter = { status: undefined, type: undefined, text: undefined };
  return {
    users: await store.users.listUsers(accountId),
    keys: await store.keys.listKeys(accountId),
    assets: await store.assets.listAssets(accountId, filter, 100, undefined, {
      now: 0,
      notSeenBefore: 0,
      serviceNowMs: 0,
    }),
    // Requests that were refused may be written down; nothing that was carried out may appear.
    done: (await store.audit.listEntries(accountId, 100_000)).filter(({ outcome }) => outcome === "ok"),
    cookies: (await context.cookies(control.url)).filter(({ name }) => name.includes("edge_session")),
  };
}

/** What an attack must not get to do. A page that is shown, a redirect to the sign-in page, is no change. */
const CHANGED = /^(?:POST|PUT|PATCH|DELETE) \S+ 2/;

for (const [site, host] of [
  // Sends the cookies of the service along, since ports make no difference to a site.
  ["on another port of the same host", "127.0.0.1"],
  ["of another host", "127.0.0.2"],
] as const) {
  test(`no page ${site} changes anything in the name of a person who is signed in`, async () => {
    const server = await serveOtherSite(host);
    const other = `http://${host}:${(server.address() as AddressInfo).port}/`;
    const before = await everything();
    const target = { url: control.url, assetId: asset.uuid, userId };
    const seen: Record<string, readonly string[]> = {};
    for (const [kind, program] of attacksOn(target)) {
      // Pages stay open until the end: to close one that a form is about to replace may take the browser forever.
      const attack = await context.newPage();
      await attack.goto(other);
      answers.length = 0;
      await attack.evaluate(program).catch((error: unknown) => {
        // The page of a form that is sent goes away.
        if (!String(error).includes("navigation")) throw error;
      });
      await waitFor(`the response to ${kind}`, () => answers.length > 0);
      seen[kind] = [...answers];
      expect([kind, answers.filter((answer) => CHANGED.test(answer))]).toEqual([kind, []]);
      expect([kind, await everything()]).toEqual([kind, before]);
    }
    // Where a browser sends the cookie along, the origin of the page is what refuses the request.
    if (host === "127.0.0.1") {
      expect(seen["a form without fields"]).toEqual([`POST /v1/users/${userId}/reset 403`]);
      expect(seen["sendBeacon with text"]).toEqual([`POST /v1/users/${userId}/reset 403`]);
      expect(seen["fetch without a body, no-cors"]).toEqual([`POST /v1/users/${userId}/reset 403`]);
    }
    expect(seen["a form that signs in as the attacker"]).toEqual(["POST /v1/session 403"]);

    const attack = await context.newPage();
    await attack.goto(other);
    const socketUrl = `${control.url.replace("http", "ws")}/v1/assets/${asset.uuid}/edge/apps/web/streams`;
    const outcome = await attack.evaluate(openSocket(socketUrl));
    expect(outcome).toBe("refused");
    await attack.close();
    expect(await everything()).toEqual(before);
    server.closeAllConnections();
    server.close();
  });
}

test("the service's own page can do each of it", async () => {
  const before = await everything();
  const statuses = await page.evaluate(
    async ({ userId: id, assetId }) => {
      const headers = { "Content-Type": "application/json" };
      const body = '{"name":"own"}';
      return [
        (await fetch(`/v1/users/${id}/reset`, { method: "POST" })).status,
        (await fetch("/v1/api-keys", { method: "POST", headers, body })).status,
        (await fetch(`/v1/assets/${assetId}`, { method: "DELETE" })).status,
        (await fetch("/v1/session", { method: "DELETE" })).status,
      ];
    },
    { userId, assetId: asset.uuid },
  );
  expect(statuses).toEqual([200, 201, 204, 204]);
  expect(await everything()).not.toEqual(before);
});
