import { type AgentReleaseList, agentReleaseListSchema } from "../../../protocol/agents/agent-release.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";

/** `GET /v1/agent-releases`: the releases of the agent that the service has for the devices of all accounts. */
export function listAgentReleases(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/agent-releases",
    {
      schema: {
        operationId: "listAgentReleases",
        summary: "List Agent Releases",
        description: "The releases of edge-agent that devices can fetch from the service. Its administrator adds them.",
        tags: ["Devices"],
        response: { 200: json("The releases.", agentReleaseListSchema), ...errors() },
      },
    },
    async (): Promise<AgentReleaseList> => {
      const releases = await store.agentReleases.listReleases();
      return {
        agent_releases: releases.map(({ version, digest, images, addedAt }) => ({
          version,
          digest,
          images: images.map(({ architecture, bytes, unpackedBytes }) => {
            return { architecture, bytes, unpacked_bytes: unpackedBytes };
          }),
          added_at: addedAt,
        })),
      };
    },
  );
}
