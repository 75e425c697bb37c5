import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { createCode } from "../../../src/control-plane/people/one-time-link.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { System } from "../system.ts";

/** Makes a set-up code of the system's account, and returns the link that it is used with. */
export async function setUpLink(system: System): Promise<string> {
  await using store = openStore(prepareDataDir(system.control.dataDir).database);
  const { code, hash, secret } = createCode(systemClock, "setup", { accountId: system.account.accountId });
  await store.users.issueCode(code, hash, undefined);
  return `${system.control.url}/#/setup?code=${secret}`;
}
