import type { Command } from "commander";
import { ApiClient } from "./api/client.ts";
import { ConfigFile } from "./config/config-file.ts";
import { resolveLogin, type Login } from "./config/login.ts";
import type { Io } from "./io.ts";
import { Printer } from "./printer.ts";

/** Options that every command understands. */
interface GlobalOptions {
  readonly json?: boolean;
  readonly url?: string;
}

/** What a command works with. */
export interface Context {
  readonly io: Io;
  readonly printer: Printer;
  readonly config: ConfigFile;
  readonly urlOption: string | undefined;
}

export function createContext(io: Io, command: Command): Context {
  const { json, url } = command.optsWithGlobals<GlobalOptions>();
  return { io, printer: new Printer(io, json ?? false), config: new ConfigFile(io), urlOption: url };
}

/** A client for the server and key in force. Errors: exit code 3 where one is not logged in. */
export async function connect(context: Context): Promise<ApiClient> {
  return createClient(context.io, await loadLogin(context));
}

/** Which server and key are in force; says so when others on this machine can read the key. */
export async function loadLogin({ io, printer, config, urlOption }: Context): Promise<Login> {
  const session = await resolveLogin({ urlOption, env: io.env, config });
  if (session.keyFrom === "login" && (await config.isExposed())) {
    printer.note(`Others on this machine can read ${config.path}. Correct it with: chmod 600 ${config.path}`);
  }
  return session;
}

export function createClient(io: Io, session: Pick<Login, "url" | "apiKey">): ApiClient {
  return new ApiClient({
    baseUrl: session.url,
    apiKey: session.apiKey,
    fetch: io.fetch,
    clock: io.clock,
    signal: io.interrupted,
  });
}
