import type { Command } from "commander";
import { renderFields } from "../../lib/terminal/table.ts";
import { listAssets } from "../api/assets.ts";
import { isUnprotected, parseBaseUrl } from "../config/base-url.ts";
import { parseApiKey } from "../config/login.ts";
import { type Context, createClient, createContext, loadLogin } from "../context.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { readTextOrStdin } from "../read-text.ts";

interface LoginOptions {
  readonly key?: string;
  readonly keyFile?: string;
}

export function addLogin(program: Command, io: Io): void {
  program
    .command("login")
    .description("check an API key against a server and remember both")
    .option("--key <key>", "the API key; others on this machine may see it in the process list")
    .option("--key-file <file>", "read the key from a file, - for standard input")
    .addHelpText(
      "after",
      "\nWithout --key and --key-file the key is taken from EDGECTL_API_KEY, or asked for\nwithout being shown. It is stored readable by you alone.",
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
    .description("show which server is used, and whether it accepts the key")
    .action(async (_options: unknown, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const login = await loadLogin(context);
      await listAssets(createClient(io, login), { limit: 1 });
      const { url, urlFrom, keyFrom } = login;
      printer.result({ url, url_from: urlFrom, key_from: keyFrom, key_accepted: true }, () =>
        renderFields(
          [
            ["Server", `${url} (from ${urlFrom})`],
            ["API key", `accepted (from ${keyFrom})`],
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
  const apiKey = parseApiKey(await obtainKey(io, options, url));
  if (isUnprotected(url))
    printer.note(`${url} is not encrypted: the key can be read on its way. Use https:// instead.`);
  await listAssets(createClient(io, { url, apiKey }), { limit: 1 });
  await config.write({ url, api_key: apiKey });
  printer.result({ url, config_file: config.path }, () =>
    [
      `${printer.theme.green(printer.theme.tick)} Logged in to ${url}.`,
      `  Stored in ${config.path}, readable by you alone.`,
    ].join("\n"),
  );
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
    "Give --key-file FILE (- for standard input), or set EDGECTL_API_KEY.",
  );
}
