import { applyRequestSchema, MAX_APPLY_BYTES } from "../../../protocol/apps/apply.ts";
import { splitDeployRequest } from "../../../protocol/apps/deploy-request.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { utf8ByteLength } from "../../../protocol/values/utf8-byte-length.ts";
import { assetParams } from "../asset-resource.ts";
import type { Api } from "../context.ts";
import {
  type CommandContext,
  commandSchema,
  streamErrorHandler,
  STREAM_DESCRIPTION,
  streamCommand,
} from "./command-stream.ts";
import { deployQuerySchema, requireBody, toDeployOptions } from "./request-options.ts";

/** `POST /v1/assets/{asset_id}/edge/apply`: applies a group of apps as one deployment and streams the events. */
export function applyGroup(api: Api, context: CommandContext): void {
  api.post(
    "/v1/assets/:asset_id/edge/apply",
    {
      bodyLimit: MAX_APPLY_BYTES,
      schema: {
        ...commandSchema(),
        operationId: "applyGroup",
        summary: "Apply Group of Apps",
        description:
          "Makes the apps of a project what the request says, as one deployment that the device carries out: apps that are " +
          "missing are created, those that differ updated, and with `prune` those removed that the request does not " +
          "list. Apps that do not differ are not touched. All images are pulled before the first app is changed. If one " +
          "app fails, all become what they were before, unless `on_failure` is `keep`. An event about one app names it in " +
          "`app`; the last one has the verdict of the whole, with the names of the apps in `details`. A dry run ends with " +
          `\`details.plan\` and \`details.plan_hash\`. ${STREAM_DESCRIPTION}`,
        params: assetParams,
        querystring: deployQuerySchema,
        body: applyRequestSchema,
      },
      errorHandler: streamErrorHandler(context),
      preValidation: requireBody,
    },
    async (request, reply) => {
      const { wait_for_device_s: waitForDeviceS, ...body } = request.body;
      const { spec, options: given } = splitDeployRequest(body);
      const options = toDeployOptions(given, request.query.dry_run);
      // With its defaults filled in it is longer, and has to fit into a frame.
      if (utf8ByteLength(JSON.stringify(spec)) > MAX_APPLY_BYTES) throw new EdgeError("PayloadTooLarge");
      return streamCommand(context, request, reply, {
        command: { action: "apply", spec },
        app: spec.project,
        options,
        waitForDeviceS,
      });
    },
  );
}
