import type { Store } from "../store/store.ts";
import { CommandError } from "./context.ts";

/** Throws `CommandError` when there is no such account. */
export async function requireAccount(store: Pick<Store, "accounts">, id: string): Promise<void> {
  if (await store.accounts.findAccount(id)) return;
  throw new CommandError(`there is no account ${id}; see \`edge-control account list\``);
}
