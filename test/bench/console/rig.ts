import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import { succeed } from "../../support/command.ts";
import { launchBrowser } from "../../support/browser/browser.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { addAccount, prepareData, startService, withStore } from "../service/service.ts";
import { seedAssets } from "./seed.ts";

const ADMIN = { name: "Ada Byron", email: "ada@example.com", password: "a gateway on every hill" };
const VIEWPORT = { width: 1440, height: 900 };
const TIMEOUT_MS = 120_000;

/** A real edge-control with many assets, and a browser in which its admin is signed in. */
export interface ConsoleRig extends AsyncDisposable {
  readonly url: string;
  readonly agentUrl: string;
  readonly apiKey: string;
  readonly assets: number;
  /** Opens an empty page of a context of its own, with nothing in its cache. */
  open(): Promise<OpenedPage>;
  /** Changes the database as another process would. */
  change(statement: string, ...values: readonly string[]): void;
  /** When the transaction of an event was, in Unix milliseconds. Its stream has seconds. */
  committedAtMs(eventId: string): number;
}

export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  readonly debug: CDPSession;
}

/** Starts the service with so many assets. Needs the executables in dist/. */
export async function startRig(assets: number): Promise<ConsoleRig> {
  await using owned = new AsyncDisposableStack();
  const folder = owned.use(await tempDir()).path;
  const account = await withStore(folder, addAccount);
  const { database } = await prepareData(folder);
  seedAssets(database, account.accountId, assets);
  const service = owned.use(await startService(folder));
  const url = `http://${service.host}:${service.port}`;
  const browser = await launchBrowser();
  owned.defer(() => browser.close());
  const cookies = await signIn(browser, url, account.accountId, join(folder, "data"));
  const kept = owned.move();
  return {
    url,
    agentUrl: `ws://${service.host}:${service.port}/v1/agent`,
    apiKey: account.apiKey,
    assets,
    open: async () => {
      const context = await browser.newContext({ viewport: VIEWPORT });
      context.setDefaultTimeout(TIMEOUT_MS);
      await context.addCookies(cookies);
      const page = await context.newPage();
      const debug = await context.newCDPSession(page);
      return { page, debug, [Symbol.asyncDispose]: () => context.close() };
    },
    change: (statement, ...values) => {
      using open = new DatabaseSync(database);
      open.prepare(statement).run(...values);
    },
    committedAtMs: (eventId) => {
      using open = new DatabaseSync(database, { readOnly: true });
      return Number(open.prepare("SELECT at_ms FROM account_events WHERE id = ?").get(eventId)?.["at_ms"]);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

type Cookies = Awaited<ReturnType<BrowserContext["cookies"]>>;

/** Sets up the account's first admin, and returns the cookies of the session. */
async function signIn(browser: Browser, url: string, accountId: string, dataDir: string): Promise<Cookies> {
  const args = ["setup-code", "--account", accountId, "--data-dir", dataDir, "--json"];
  const { code } = JSON.parse(await succeed("dist/edge-control", args)) as { readonly code: string };
  await using context = await browser.newContext();
  const response = await context.request.post(`${url}/v1/setup`, {
    headers: { origin: url },
    data: { code, ...ADMIN },
  });
  if (!response.ok()) throw new Error(`set-up failed: ${await response.text()}`);
  return await context.cookies();
}
