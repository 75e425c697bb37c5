import type { PreviousLogs } from "../../src/agent/store/previous-logs.ts";
import type { AppLogLine } from "../../src/protocol/apps/app-log.ts";

/** Kept logs in memory, which survive a restart of the agent under test. */
export class MemoryPreviousLogs implements PreviousLogs {
  readonly #lines = new Map<string, readonly AppLogLine[]>();
  /** Thrown when lines are to be kept, as by a disk that is full. */
  failure: Error | undefined;

  keep(app: string, lines: readonly AppLogLine[]): void {
    if (this.failure) throw this.failure;
    this.#lines.set(app, lines);
  }

  read(app: string): AppLogLine[] {
    return [...(this.#lines.get(app) ?? [])];
  }

  remove(app: string): void {
    this.#lines.delete(app);
  }

  removeOthers(apps: readonly string[]): void {
    for (const app of this.#lines.keys()) if (!apps.includes(app)) this.#lines.delete(app);
  }
}
