import { succeed } from "../command.ts";
import type { System } from "../system.ts";

/** Makes a set-up code of the system's account, and returns the link that it is used with. */
export async function setUpLink({ control, account }: System): Promise<string> {
  const args = ["setup-code", "--account", account.accountId, "--data-dir", control.dataDir, "--json"];
  const { code } = JSON.parse(await succeed("dist/edge-control", args)) as { readonly code: string };
  // The command does not know the port, which is a free one.
  return `${control.url}/#/setup?code=${code}`;
}
