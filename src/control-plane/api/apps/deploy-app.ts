import { deployRequestSchema, splitDeployRequest } from "../../../protocol/apps/deploy-request.ts";
import { findHiddenFiles } from "../../../protocol/apps/app-spec.ts";
import { MAX_APP_REQUEST_BYTES } from "../../../protocol/limits.ts";
import { IN_WORDS } from "../../../protocol/values/issue-words.ts";
import { invalidRequest, toDeployRequestError } from "../../../protocol/errors/request-error.ts";
import type { ZodType } from "zod";
import { assetParams } from "../asset-resource.ts";
import type { Api } from "../context.ts";
import { validateBy } from "../errors.ts";
import {
  type CommandContext,
  commandSchema,
  streamErrorHandler,
  STREAM_DESCRIPTION,
  streamCommand,
} from "./command-stream.ts";
import { deployQuerySchema, limitOtherFields, requireBody, toDeployOptions } from "./request-options.ts";

/**
 * `POST /v1/assets/{asset_id}/edge/apps`: deploys an app and streams the events. After authentication refusals are event
 * streams too, unless the client asks for JSON or does not wait (`command-stream.ts`). The deployment continues when the client
 * disconnects.
 */
export function deployApp(api: Api, context: CommandContext): void {
  api.post(
    "/v1/assets/:asset_id/edge/apps",
    {
      schema: {
        ...commandSchema("ErrorNoName", "ErrorNoImage"),
        operationId: "deployApp",
        summary: "Deploy App",
        description: `Deploys an app to the asset's device. ${STREAM_DESCRIPTION}`,
        params: assetParams,
        querystring: deployQuerySchema,
        body: deployRequestSchema,
      },
      bodyLimit: MAX_APP_REQUEST_BYTES,
      errorHandler: streamErrorHandler(context),
      preValidation: [requireBody, limitOtherFields],
      validatorCompiler: ({ httpPart, schema }) =>
        httpPart === "body" ? validateRequest : validateBy(schema as unknown as ZodType, httpPart),
    },
    async (request, reply) => {
      const { wait_for_device_s: waitForDeviceS, ...body } = request.body;
      const { spec, options: given } = splitDeployRequest(body);
      const options = toDeployOptions(given, request.query.dry_run);
      return streamCommand(context, request, reply, {
        command: { action: "deploy", spec },
        app: spec.name,
        options,
        waitForDeviceS,
      });
    },
  );
}

/** Validates by the schema, with specific error codes for a missing name or image. */
function validateRequest(data: unknown): ReturnType<ReturnType<typeof validateBy>> {
  const result = deployRequestSchema.safeParse(data, IN_WORDS);
  if (!result.success) return { error: toDeployRequestError(data, result.error, deployRequestSchema) };
  const issues = findHiddenFiles(result.data);
  return issues.length > 0 ? { error: invalidRequest(issues) } : { value: result.data };
}
