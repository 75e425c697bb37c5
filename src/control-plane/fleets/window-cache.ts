import { z } from "zod";
import type { DeviceFacts } from "../../protocol/apps/app-report.ts";
import type { RolloutStrategy } from "../../protocol/fleets/rollout-strategy.ts";
import { type WindowState, windowStateAt } from "../core/fleets/windows.ts";

/** Protocol version 4 reports it. */
const zoneSchema = z.object({ time_zone: z.string().catch("") });

/** The windows of a strategy at one moment, computed once for each time zone. */
export class WindowCache {
  readonly #strategy: Pick<RolloutStrategy, "windows" | "download_windows">;
  readonly #nowMs: number;
  readonly #states = new Map<string, WindowState>();

  constructor(strategy: Pick<RolloutStrategy, "windows" | "download_windows">, nowMs: number) {
    this.#strategy = strategy;
    this.#nowMs = nowMs;
  }

  /** Returns whether a deployment may begin on the device: where windows of both kinds are open. */
  stateFor(device: DeviceFacts | undefined): WindowState {
    const zone = zoneSchema.safeParse(device).data?.time_zone ?? "";
    const known = this.#states.get(zone);
    if (known) return known;
    const state = this.#compute(zone === "" ? undefined : zone);
    this.#states.set(zone, state);
    return state;
  }

  #compute(zone: string | undefined): WindowState {
    const { windows, download_windows: downloadWindows } = this.#strategy;
    const states = [windows, downloadWindows].map((list) => windowStateAt(list, zone, this.#nowMs));
    return (
      states.find(({ kind }) => kind === "unknown_zone") ??
      states.find(({ kind }) => kind === "closed") ?? { kind: "open", closesAtMs: undefined }
    );
  }
}
