import type { Command } from "commander";
import { renderFields } from "../../lib/terminal/table.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import type { LoginKey } from "../../protocol/people/login-request.ts";
import { listAssets } from "../api/assets.ts";
import { getSession } from "../api/people.ts";
import { isUnprotected, loginInBrowser, parseApiKey, parseBaseUrl } from "../config/login.ts";
import { type Context, createClient, createContext, loadLogin } from "../context.ts";
import { Failure, usageFailure } from "../failure.ts";
import { type Io, readTextOrStdin } from "../io.ts";

interface LoginOptions {
  readonly key?: string;
  readonly keyFile?: string;
  readonly withKey?: boolean;
  readonly browser?: boolean;
}

export function addLogin(program: Command, io: Io): void {
  program
    .command("login")
    .description("log in to a server, by confirming it in a browser or with an API key, and remember both")
    .option("--browser", "in a browser, also without a terminal")
    .option("--with-key", "with an API key, which is asked for without being shown")
    .option("--key <key>", "the API key; others on this machine may see it in the process list")
    .option("--key-file <file>", "read the key from a file, - for standard input")
    .addHelpText(
      "after",
      "\nOn a terminal an address and a code are printed: open the address in a browser\nwhere you are signed in, compare the code and confirm. Then a key is made for\nthis machine. Without a terminal a key has to be given; EDGECTL_API_KEY is taken\nfirst. The key is stored readable by you alone.",
    )
    .action(async (options: LoginOptions, command: Command) => login(createContext(io, command), options));
}

export function addLogout(program: Command, io: Io): void {
  program
    .command("logout")
    .description("forget the stored server and key (the key itself stays valid)")
    .action(async (_options: unknown, command: Command) => {
      const { printer, config } = createContext(io, command);
      const wasLoggedIn = await config.remove();
      printer.result({ was_logged_in: wasLoggedIn }, () => (wasLoggedIn ? "Logged out." : "You were not logged in."));
    });
}

export function addWhoami(program: Command, io: Io): void {
  program
    .command("whoami")
    .description("show which server is used, whether it accepts the key, and its account and role")
    .action(async (_options: unknown, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const login = await loadLogin(context);
      const { principal, account, role, expires_at } = await getSession(createClient(io, login));
      const { url, urlFrom, keyFrom } = login;
      const { id, name } = principal;
      const document = { url, url_from: urlFrom, key_from: keyFrom, key_accepted: true };
      printer.result({ ...document, principal, account, role, expires_at }, () =>
        renderFields(
          [
            ["Server", `${url} (from ${urlFrom})`],
            ["API key", `${sanitizeLine(`${name}, ${id}`)}, accepted (from ${keyFrom})`],
            ["Account", sanitizeLine(`${account.name}, ${account.id}`)],
            ["Role", sanitizeLine(role)],
            ["Expires", expires_at === null ? "never" : `${formatTime(expires_at)} UTC`],
          ],
          printer.theme,
        ),
      );
    });
}

async function login(context: Context, options: LoginOptions): Promise<void> {
  const { io, printer, config, urlOption } = context;
  const given = urlOption ?? (io.env.EDGECTL_URL || undefined) ?? (await storedUrl(context));
  if (given === undefined) throw usageFailure("No server to log in to is given.", "Give its address with --url.");
  const url = parseBaseUrl(given);
  const isInBrowser = usesBrowser(io, options);
  const givenKey = isInBrowser ? undefined : parseApiKey(await obtainKey(io, options, url));
  if (isUnprotected(url))
    printer.note(`${url} is not encrypted: the key can be read on its way. Use https:// instead.`);
  const made =
    givenKey === undefined
      ? await loginInBrowser(io, printer, createClient(io, { url, apiKey: undefined }))
      : undefined;
  const apiKey = givenKey ?? parseApiKey(made?.api_key ?? "");
  // One that was just made is valid, and would be lost if the check failed.
  if (!made) await listAssets(createClient(io, { url, apiKey }), { limit: 1 });
  await config.write({ url, api_key: apiKey }).catch((error: unknown) => {
    throw made && error instanceof Failure ? unstored(error, made) : error;
  });
  const key = made && { key_id: made.key_id, role: made.role, expires_at: made.expires_at, account: made.account };
  printer.result({ url, config_file: config.path, ...key }, () =>
    [
      `${printer.theme.green(printer.theme.tick)} Logged in to ${url}.`,
      ...(made ? [`  ${describeKey(made)}`] : []),
      `  Stored in ${config.path}, readable by you alone.`,
    ].join("\n"),
  );
}

/** Only a terminal shows that a person is there to open a browser. */
function usesBrowser(io: Io, { key, keyFile, withKey, browser }: LoginOptions): boolean {
  if (browser) return true;
  return key === undefined && keyFile === undefined && !withKey && !io.env.EDGECTL_API_KEY && io.stdin.isTTY;
}

/** The key is valid, but no client has it. */
function unstored(failure: Failure, { key_id }: LoginKey): Failure {
  return new Failure(`${failure.message} No client has the key ${key_id} that was made for it.`, {
    exitCode: failure.exitCode,
    hint: `Have ${key_id} revoked under API keys in the console, check the rights on that directory, and log in again.`,
    cause: failure,
  });
}

function describeKey({ account, role, expires_at }: LoginKey): string {
  const until = expires_at === null ? "" : `, until ${formatTime(expires_at)} UTC`;
  return `Account ${sanitizeLine(account.name)}, with the role ${role}${until}.`;
}

// Errors are ignored: a damaged file is about to be replaced.
async function storedUrl({ config }: Context): Promise<string | undefined> {
  const stored = await config.read().catch(() => undefined);
  return stored?.url;
}

async function obtainKey(io: Io, options: LoginOptions, url: string): Promise<string> {
  if (options.key !== undefined) return options.key;
  if (options.keyFile !== undefined) return readTextOrStdin(options.keyFile, io);
  if (io.env.EDGECTL_API_KEY) return io.env.EDGECTL_API_KEY;
  if (io.stdin.isTTY) return io.stdin.readSecret(`API key for ${url}: `);
  throw usageFailure(
    "No API key is given, and there is no terminal to ask for one.",
    "Give --key-file FILE (- for standard input), set EDGECTL_API_KEY, or confirm in a browser with --browser.",
  );
}
