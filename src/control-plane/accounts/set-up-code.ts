import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { writeAtomically } from "../../lib/write-atomically.ts";
import { auditEntry, type AuditOrigin } from "./audit-entry.ts";
import type { Config } from "../config/config.ts";
import { databaseOf } from "../config/database-config.ts";
import type { Store } from "../store/store.ts";
import { createCode, linkOf } from "./one-time-link.ts";

interface Services {
  readonly store: Pick<Store, "accounts" | "users">;
  readonly clock: Clock;
}

export interface SetUpLink {
  readonly code: string;
  readonly link: string;
  /** Unix seconds. */
  readonly expiresAt: number;
}

const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** The address of the console: the configured one, or the one that is listened on, from this machine. */
export function consoleUrlOf(
  { public_url, listen }: Pick<Config, "public_url" | "listen">,
  port = listen.port,
): string {
  if (public_url !== undefined) return new URL(public_url).origin;
  const host = WILDCARDS.has(listen.host) ? "127.0.0.1" : listen.host;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** In the data directory: the address under which the server listens, or did last. Commands do not know its options. */
const ADDRESS_FILE = "console-url";

/** Notes the address of the console, for commands beside the server. */
export function noteConsoleUrl(config: Config, url: string): void {
  const database = databaseOf(config);
  if (database.kind !== "sqlite") return;
  writeAtomically(join(database.dataDir, ADDRESS_FILE), `${url}\n`, { mode: 0o600 });
}

/** Returns the address of the console to a command beside the server. */
export function notedConsoleUrl(config: Config): string {
  const database = databaseOf(config);
  if (config.public_url !== undefined || database.kind !== "sqlite") return consoleUrlOf(config);
  try {
    return readFileSync(join(database.dataDir, ADDRESS_FILE), "utf8").trim();
  } catch {
    // The server has not run yet.
    return consoleUrlOf(config);
  }
}

/**
 * Creates a code that makes the first admin: of the account, or without one of an account that it makes. Earlier codes of the
 * same kind become invalid.
 */
export async function issueSetUpCode(
  { store, clock }: Services,
  url: string,
  origin: AuditOrigin | undefined,
): Promise<SetUpLink> {
  const accountId = origin?.accountId;
  const { code, hash, secret } = createCode(clock, "setup", { accountId });
  const { expiresAt } = code;
  const facts = { action: "setup_code.created", details: { expires_at: expiresAt } } as const;
  await store.users.issueCode(code, hash, origin && auditEntry(origin, clock, facts));
  return { code: secret, link: linkOf(url, "setup", secret), expiresAt };
}

/** Returns what to tell the service's operator when it starts: how to set it up. `undefined` if a person can sign in. */
export async function describeSetUp(services: Services, url: string): Promise<string | undefined> {
  const { accounts, users } = services.store;
  if (await users.hasUsers()) return undefined;
  const [first, ...others] = await accounts.listAccounts();
  if (others.length > 0)
    return "no person can sign in yet; for each account create a set-up code: edge-control setup-code --account ID";
  const actor = { kind: "service", id: "edge-control" } as const;
  const { link } = await issueSetUpCode(services, url, first && { accountId: first.id, actor, source: undefined });
  return `no person can sign in yet; open this link within 24 hours to make the first admin, it works once:\n  ${link}`;
}
