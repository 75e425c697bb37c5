import { AGENT_APP, type AgentUpdate, agentUpdateRequestSchema } from "../../../protocol/agents/agent-update.ts";
import { splitDeployRequest } from "../../../protocol/apps/deploy-request.ts";
import type { ServedReleases } from "../../releases/served-releases.ts";
import { assetParams } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import {
  type CommandContext,
  commandSchema,
  streamErrorHandler,
  STREAM_DESCRIPTION,
  streamCommand,
} from "./command-stream.ts";
import { deployQuerySchema, requireBody, toDeployOptions } from "./request-options.ts";

/** `POST /v1/assets/{asset_id}/edge/agent`: updates the agent of a device and streams the events. */
export function updateAgent(api: Api, context: CommandContext & ApiContext<"releases">): void {
  api.post(
    "/v1/assets/:asset_id/edge/agent",
    {
      schema: {
        ...commandSchema("AgentReleaseNotFound"),
        operationId: "updateAgent",
        summary: "Update Agent",
        description:
          "Brings the agent of a device to another version, from a release that one of the device's keys has signed. `Success` is " +
          `the new version's own confirmation; after \`Fail\` the one before runs. ${STREAM_DESCRIPTION}`,
        params: assetParams,
        querystring: deployQuerySchema,
        body: agentUpdateRequestSchema,
      },
      errorHandler: streamErrorHandler(context),
      preValidation: requireBody,
    },
    async (request, reply) => {
      const { wait_for_device_s: waitForDeviceS, ...body } = request.body;
      const { spec, options } = splitDeployRequest(body);
      return streamCommand(context, request, reply, {
        command: { action: "update_agent", spec: await withServed(spec, context.releases.served) },
        app: AGENT_APP,
        options: toDeployOptions(options, request.query.dry_run),
        waitForDeviceS,
      });
    },
  );
}

/** Adds where the release of a version is. Error: `AgentReleaseNotFound`. */
async function withServed(update: AgentUpdate, releases: ServedReleases): Promise<AgentUpdate> {
  const { version } = update;
  return version === undefined ? update : { ...update, served: await releases.requireRelease(version) };
}
