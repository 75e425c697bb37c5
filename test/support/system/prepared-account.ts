import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cached } from "../cached.ts";
import { type Account, type Asset, ControlProcess } from "./control.ts";

export interface PreparedAccount {
  readonly account: Account;
  readonly asset: Asset;
}

const FACTS = "account.json";

/**
 * Copies the data of a service with one account and one asset into the directory of a service that has not started yet.
 * They are made once for each build: three commands and the migrations of an empty database take a second.
 */
export async function copyPreparedAccount(dataDir: string): Promise<PreparedAccount> {
  const build = await readFile("dist/.fingerprint", "utf8");
  const prepared = await cached(".cache/control", build, async (directory) => {
    await using control = new ControlProcess(directory, []);
    await control.start();
    const account = await control.createAccount("account");
    const asset = await control.addAsset(account.accountId, "gateway");
    // Gracefully, so that the database is one file.
    await control.stop();
    await writeFile(join(directory, FACTS), JSON.stringify({ account, asset }));
  });
  await cp(new ControlProcess(prepared, []).dataDir, dataDir, { recursive: true });
  return JSON.parse(await readFile(join(prepared, FACTS), "utf8")) as PreparedAccount;
}
