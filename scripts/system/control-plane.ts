import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type RunningProgram, startProgram } from "./program.ts";

const EXECUTABLE = "dist/edge-control";

/** A running edge-control on a free loopback port. */
export interface ControlPlane extends AsyncDisposable {
  readonly url: string;
  /** URL for agents. */
  readonly agentUrl: string;
  readonly program: RunningProgram;
  /**
   * Creates an account with an API key and one asset through the administration commands.
   *
   * @param keyOptions further options of `key create`
   */
  register(account: string, serialNumber: string, keyOptions?: readonly string[]): Promise<Registration>;
  /**
   * Creates a link that makes an admin of the account and signs them in.
   *
   * @param next the console's page to open then, such as `/overview`
   */
  setUpLink(accountId: string, next: string): Promise<string>;
}

export interface Registration {
  readonly accountId: string;
  readonly apiKey: string;
  readonly deviceToken: string;
  readonly serialNumber: string;
}

/** Starts edge-control with its data and log in `folder`, and waits until it listens. */
export async function startControlPlane(folder: string, options: readonly string[] = []): Promise<ControlPlane> {
  const dataDir = join(folder, "control");
  const args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", dataDir, ...options];
  const program = startProgram(EXECUTABLE, args, { log: join(folder, "edge-control.log") });
  try {
    const { port } = await program.waitForMessage("listening");
    const url = `http://127.0.0.1:${String(port)}`;
    return {
      url,
      agentUrl: `ws://127.0.0.1:${String(port)}/v1/agent`,
      program,
      register: (account, serialNumber, keyOptions = []) => register(dataDir, account, serialNumber, keyOptions),
      setUpLink: async (accountId, next) => {
        const { code = "" } = await administer(dataDir, "setup-code", "--account", accountId);
        // The command does not know the port, which is a free one.
        return `${url}/#/setup?${new URLSearchParams({ code, next }).toString()}`;
      },
      [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
    };
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

async function register(
  dataDir: string,
  name: string,
  serialNumber: string,
  keyOptions: readonly string[],
): Promise<Registration> {
  const { account_id: account = "" } = await administer(dataDir, "account", "create", name);
  const create = ["key", "create", "--account", account, "--name", name, "--role", "admin"];
  const key = await administer(dataDir, ...create, ...keyOptions);
  const { api_key: apiKey = "" } = key;
  const asset = await administer(dataDir, "asset", "add", "--account", account, "--serial-number", serialNumber);
  return { accountId: account, apiKey, deviceToken: asset["device_token"] ?? "", serialNumber };
}

/** Runs an administration command on the data directory and returns its result. */
async function administer(dataDir: string, ...args: readonly string[]): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(EXECUTABLE, [...args, "--data-dir", dataDir, "--json"]);
  return JSON.parse(stdout) as Record<string, string>;
}
