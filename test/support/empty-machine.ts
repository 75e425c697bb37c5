import type { Surroundings } from "../../src/agent/core/check.ts";

/** A machine with nothing on it. */
export const EMPTY_MACHINE: Surroundings = {
  containers: [],
  apps: [],
  rivals: [],
  listening: [],
  machine: { memoryBytes: 1_000_000_000, cpus: 2 },
  missingDevices: [],
  freeBytes: 1_000,
  reserveBytes: 1_000,
  policyViolation: undefined,
  action: "deploy",
};
