import type { Permission } from "../../../src/control-plane/core/permission.ts";
import { permissionName } from "../../../src/control-plane/core/permission.ts";
import type { RunningCommand } from "../command.ts";
import type { System } from "../system.ts";
import { waitFor } from "../wait-for.ts";
import { type EdgectlUser, edgectlUser } from "./process.ts";

/** edgectl with a key of its own that has these permissions. */
export interface RemoteUser extends AsyncDisposable {
  readonly keyId: string;
  readonly apiKey: string;
  run(args: readonly string[], input?: string): ReturnType<EdgectlUser["run"]>;
  start(args: readonly string[], input?: string): RunningCommand;
  /** Opens a port of an app and returns the local one. */
  forward(app: string, port: number): Promise<{ readonly url: string; readonly command: RunningCommand }>;
}

export async function remoteUser(system: System, permissions: readonly Permission[]): Promise<RemoteUser> {
  const { control, account, asset } = system;
  const allow = permissions.length === 0 ? [] : ["--allow", permissions.map(permissionName).join(",")];
  const key = await control.administer("key", "create", "--account", account.accountId, "--name", "remote", ...allow);
  const apiKey = key["api_key"] ?? "";
  const user = await edgectlUser("dist/edgectl");
  const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: apiKey };
  const withInput = (input: string | undefined) => ({ env, ...(input !== undefined && { input }) });
  return {
    keyId: key["key_id"] ?? "",
    apiKey,
    run: (args, input) => user.run(args, withInput(input)),
    start: (args, input) => user.start(args, withInput(input)),
    async forward(app, port) {
      const command = user.start(["--json", "forward", asset.serialNumber, app, String(port)], { env });
      const line = await waitFor("the forwarded port", () => {
        if (command.stderr() !== "") throw new Error(command.stderr());
        return /^\{.*\}$/m.exec(command.stdout())?.[0];
      });
      return { url: (JSON.parse(line) as { url: string }).url, command };
    },
    [Symbol.asyncDispose]: () => user[Symbol.asyncDispose](),
  };
}
