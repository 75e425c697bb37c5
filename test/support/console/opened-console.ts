import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { launchBrowser } from "../browser/browser.ts";
import { ControlProcess } from "../system/control.ts";
import { tempDir } from "../temp-dir.ts";

/** A page may wait for other tests of a busy machine. */
const TIMEOUT_MS = 120_000;

export const ADMIN = {
  accountName: "Acme Water Works",
  name: "Ada Byron",
  email: "ada@example.com",
  password: "a gateway on every hill",
} as const;

/** A real edge-control with a browser beside it. */
export interface ConsoleRig extends AsyncDisposable {
  readonly control: ControlProcess;
  readonly browser: Browser;
  /** Makes a code to set up the service, and returns the link that the server prints for it. */
  setUpLink(): Promise<string>;
  /** Sets up the service by the API, if nobody has yet. */
  setUp(): Promise<void>;
  /** A page of its own context, without a session. */
  open(options?: BrowserContextOptions): Promise<OpenedTab>;
  /** A page on which the first admin is signed in. */
  openSignedIn(options?: BrowserContextOptions): Promise<OpenedTab>;
}

export interface OpenedTab extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the browser reported: refusals by the page's policy, and errors of scripts. */
  readonly complaints: readonly string[];
}

/** Starts an edge-control without users, and a browser. Needs the executables in dist/. */
export async function startConsole(flags: readonly string[] = []): Promise<ConsoleRig> {
  await using owned = new AsyncDisposableStack();
  const directory = owned.use(await tempDir());
  const control = owned.use(new ControlProcess(directory.path, flags));
  await control.start();
  const browser = await launchBrowser();
  owned.defer(() => browser.close());
  const setUpCode = async (): Promise<string> => (await control.administer("setup-code"))["code"] ?? "";
  const setUpLink = async (): Promise<string> => `${control.url}/#/setup?code=${await setUpCode()}`;
  let cookies: readonly Cookie[] | undefined;
  const signIn = async (): Promise<readonly Cookie[]> => {
    const { accountName, ...person } = ADMIN;
    await using context = await browser.newContext();
    const response = await context.request.post(`${control.url}/v1/setup`, {
      headers: { origin: control.url },
      data: { code: await setUpCode(), account_name: accountName, ...person },
    });
    if (!response.ok()) throw new Error(`set-up failed: ${await response.text()}`);
    return await context.cookies();
  };
  const open = (options?: BrowserContextOptions): Promise<OpenedTab> => openTab(browser, options);
  const kept = owned.move();
  return {
    control,
    browser,
    setUpLink,
    setUp: async () => {
      cookies ??= await signIn();
    },
    open,
    openSignedIn: async (options) => {
      cookies ??= await signIn();
      const tab = await open(options);
      await tab.context.addCookies([...cookies]);
      return tab;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

type Cookie = Awaited<ReturnType<BrowserContext["cookies"]>>[number];

async function openTab(browser: Browser, options: BrowserContextOptions = {}): Promise<OpenedTab> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // A refused request is an answer that pages show.
    const isRefusal = message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !isRefusal) complaints.push(message.text());
  });
  return { context, page, complaints, [Symbol.asyncDispose]: () => context.close() };
}
