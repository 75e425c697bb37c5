import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { requestOf } from "./request.ts";

const releaseSchema = z.looseObject({
  version: z.string(),
  digest: z.string(),
  images: z.array(z.looseObject({ architecture: z.string(), bytes: z.number() })),
  added_at: z.number(),
});
export type AgentRelease = z.output<typeof releaseSchema>;

const listSchema = z.looseObject({ agent_releases: z.array(releaseSchema) });

/** Lists the releases of the agent that the service has. */
export function listAgentReleases(client: ApiClient): Promise<z.output<typeof listSchema>> {
  return client.json(requestOf("GET /v1/agent-releases"), listSchema);
}
