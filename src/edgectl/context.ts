import type { Command } from "commander";
import { ApiClient } from "./api/client.ts";
import { ConfigFile } from "./config/config-file.ts";
import { type Login, resolveLogin } from "./config/login.ts";
import type { Io } from "./io.ts";
import { Printer } from "./printer.ts";

/** Options of every command. */
interface GlobalOptions {
  readonly json?: boolean;
  readonly url?: string;
}

/** The environment of one command. */
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

/** Creates a client for the server and key in effect. Errors: exit code 3 without a login. */
export async function connect(context: Context): Promise<ApiClient> {
  return createClient(context.io, await loadLogin(context));
}

/** Loads the server and key in effect. Prints a note when other users of this machine can read the stored key. */
export async function loadLogin({ io, printer, config, urlOption }: Context): Promise<Login> {
  const login = await resolveLogin({ urlOption, env: io.env, config });
  if (login.keyFrom === "login" && (await config.isExposed())) {
    printer.note(`Others on this machine can read ${config.path}. Correct it with: chmod 600 ${config.path}`);
  }
  return login;
}

export function createClient(io: Io, login: { readonly url: string; readonly apiKey: string | undefined }): ApiClient {
  return new ApiClient({
    baseUrl: login.url,
    apiKey: login.apiKey,
    fetch: io.fetch,
    clock: io.clock,
    signal: io.interrupted,
  });
}
