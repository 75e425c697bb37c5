import type { AgentStore } from "./store.ts";

/** The part of the store that can be read without the daemon. Reading may throw a `StoreError`. */
export type StoreReader = Pick<AgentStore, "apps" | "deployments" | "history">;
