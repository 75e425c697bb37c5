import type { BackgroundGuard } from "../../src/agent/core/service/crash-loop.ts";

/** Does all work at once, as after a clean end of the agent. */
export const UNGUARDED: BackgroundGuard = { run: (_name, work) => work() };
