import type { HostState } from "../../src/agent/core/deployment/check.ts";

/** A host without containers, apps and listening ports. */
export const EMPTY_HOST_STATE: HostState = {
  containers: [],
  apps: [],
  concurrentDeployments: [],
  listeningPorts: [],
  capacity: { memoryBytes: 1_000_000_000, cpus: 2 },
  missingDevices: [],
  freeBytes: 1_000,
  reserveBytes: 1_000,
  policyViolation: undefined,
  volumes: { uses: [], foreign: [], external: [] },
  action: "deploy",
};
