import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Browser, Page } from "playwright-core";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { launchBrowser } from "../../support/browser/browser.ts";

/* What a real browser lets pages of other origins do with the API. */

let owned: AsyncDisposableStack;
let browser: Browser;
let control: ControlPlane;
let account: TestAccount;
let stranger: TestAccount;
/** A browser takes a while on a busy machine. */
const TIMEOUT_MS = 120_000;
/** Of the account's own page, and of one that is not configured. */
let pages: { readonly own: string; readonly other: string };

beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  pages = { own: await serveEmptyPage(stack), other: await serveEmptyPage(stack) };
  control = stack.use(await startControlPlane({ config: { cors_origins: { acc_page: [pages.own] } } }));
  await control.store.accounts.createAccount({ id: "acc_page", name: "page", createdAt: 1 });
  account = await control.key({ accountId: "acc_page", keyId: "", apiKey: "" }, []);
  stranger = await control.account();
  browser = await launchBrowser();
  stack.defer(() => browser.close());
  owned = stack.move();
});
afterAll(() => owned.disposeAsync());

async function serveEmptyPage(stack: AsyncDisposableStack): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>A page</title>");
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function openedAt(url: string): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  await page.goto(url);
  return page;
}

interface Sent {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What a script of the page gets of a request. */
async function fetchIn(page: Page, path: string, init: Sent): Promise<unknown> {
  return page.evaluate(
    async ([url, options]) => {
      try {
        const response = await fetch(url, options);
        return { status: response.status, etag: response.headers.has("etag"), body: await response.text() };
      } catch (error) {
        return (error as Error).name;
      }
    },
    [control.url + path, init] as const,
  );
}

test("the account's own page reads, and changes, and sees entity tags; with another account's key it reads nothing", async () => {
  const page = await openedAt(pages.own);
  const headers = { "X-API-Key": account.apiKey };
  expect(await fetchIn(page, "/v1/assets", { headers })).toMatchObject({ status: 200, etag: true });
  const body = JSON.stringify({ serial_number: "PAGE-1" });
  const change = { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body };
  expect(await fetchIn(page, "/v1/assets", change)).toMatchObject({ status: 201 });
  expect(await fetchIn(page, "/v1/assets/PAGE-1", { method: "DELETE", headers })).toMatchObject({ status: 204 });
  expect(await fetchIn(page, "/v1/assets", { headers: { "X-API-Key": "none" } })).toMatchObject({ status: 401 });
  expect(await fetchIn(page, "/v1/assets", { headers: { "X-API-Key": stranger.apiKey } })).toBe("TypeError");
});

test("a page that is not configured gets nothing, and changes nothing", async () => {
  const page = await openedAt(pages.other);
  const headers = { "X-API-Key": account.apiKey, "Content-Type": "application/json" };
  const change = { method: "POST", headers, body: '{"serial_number":"PAGE-2"}' };
  expect(await fetchIn(page, "/v1/assets", { headers })).toBe("TypeError");
  expect(await fetchIn(page, "/v1/assets", change)).toBe("TypeError");
  expect(await control.store.assets.findAsset("acc_page", "PAGE-2")).toBeUndefined();
});
