import { unixNow, type Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { StreamKind } from "../../../protocol/link/streams.ts";
import type { AuditAction } from "../../core/people/audit-actions.ts";
import type { AuditEntry, AuditStore } from "../../store/audit.ts";
import { repeatWhileUnavailable, StoreUnavailableError } from "../../store/unavailable.ts";

/** Entries of one connection that may wait for the store. Those beyond are left out, and logged. */
const MAX_WAITING_ENTRIES = 200;

export interface AuditTrailOptions {
  readonly audit: Pick<AuditStore, "addEntry">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly accountId: string;
  readonly keyId: string;
  readonly source: string | undefined;
  readonly assetUuid: string;
  readonly app: string;
}

/** What was accessed, and what it took so far. */
export interface Access {
  readonly kind: StreamKind;
  readonly target: Readonly<Record<string, unknown>>;
  readonly beganAt: number;
  streams: number;
  open: number;
  sent: number;
  received: number;
  outcome: string;
}

/** Writes what a client's connection does to the audit log. */
export class AuditTrail {
  readonly #options: AuditTrailOptions;
  readonly #forwards = new Map<string, Access>();
  #waiting = 0;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
  }

  /**
   * A stream is opened. A browser opens many for one page: those to the same port count as one access, from the first
   * until the client disconnects.
   */
  begin(kind: StreamKind, params: unknown): Access {
    const target = describe(kind, params);
    const key = kind === "forward" ? JSON.stringify(target) : undefined;
    const known = key === undefined ? undefined : this.#forwards.get(key);
    if (known) {
      known.streams++;
      known.open++;
      return known;
    }
    const access: Access = {
      kind,
      target,
      beganAt: this.#options.clock.monotonic(),
      streams: 1,
      open: 1,
      sent: 0,
      received: 0,
      outcome: "ok",
    };
    if (key !== undefined) this.#forwards.set(key, access);
    this.#write("remote_access.opened", access, {});
    return access;
  }

  /** A stream, or with neither kind nor parameters the connection, is refused for want of a permission. */
  refuse(kind: StreamKind | undefined, params: unknown, code: string): void {
    const target = kind === undefined || params === undefined ? {} : describe(kind, params);
    this.#write("remote_access.refused", { kind, target, outcome: code }, {});
  }

  /** A stream has ended. @param code of the error, if any */
  end(access: Access, code: string | undefined): void {
    access.open--;
    access.outcome = code ?? "ok";
    if (access.kind !== "forward") this.#close(access);
  }

  /** The client has disconnected, and all its streams have ended. */
  close(): void {
    for (const access of this.#forwards.values()) this.#close(access);
    this.#forwards.clear();
  }

  #close(access: Access): void {
    const { streams, sent, received, beganAt, kind } = access;
    const seconds = Math.round((this.#options.clock.monotonic() - beganAt) / 1000);
    this.#write("remote_access.closed", access, { sent, received, seconds, ...(kind === "forward" && { streams }) });
  }

  #write(
    action: AuditAction,
    { kind, target, outcome }: Pick<Access, "target" | "outcome"> & { readonly kind: StreamKind | undefined },
    facts: object,
  ): void {
    const { audit, clock, logger, accountId, keyId, source, assetUuid, app } = this.#options;
    const actor = { kind: "key", id: keyId } as const;
    const entry = { accountId, at: unixNow(clock), actor, source, action, assetUuid, app, outcome };
    const complete = { ...entry, details: { ...(kind && { kind }), ...target, ...facts } };
    this.#add(audit, complete).catch((error: unknown) => {
      logger.error({ err: error, action, asset: assetUuid, app, key_id: keyId }, "cannot write to the audit log");
    });
  }

  /** The access was answered already: its entry waits for a store that is unavailable. */
  async #add(audit: AuditTrailOptions["audit"], entry: AuditEntry): Promise<void> {
    const { clock } = this.#options;
    await audit.addEntry(entry).catch(async (error: unknown) => {
      if (!(error instanceof StoreUnavailableError) || this.#waiting >= MAX_WAITING_ENTRIES) throw error;
      this.#waiting++;
      await repeatWhileUnavailable(() => audit.addEntry(entry), { clock }).finally(() => this.#waiting--);
    });
  }
}

/** The facts of a request that may be stored: of a command its program only, since arguments may hold secrets. */
function describe(kind: StreamKind, params: unknown): Record<string, unknown> {
  const { port, command, path, tty } = params as Readonly<Record<string, unknown>>;
  switch (kind) {
    case "forward":
      return { port };
    case "exec":
      return { program: (command as readonly string[])[0]?.slice(0, 256), tty };
    case "read":
    case "write":
      return { path };
  }
}
