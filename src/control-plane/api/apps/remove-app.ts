import type { Api } from "../context.ts";
import { appParams } from "./app-resource.ts";
import {
  type CommandContext,
  commandSchema,
  streamErrorHandler,
  STREAM_DESCRIPTION,
  streamCommand,
} from "./command-stream.ts";
import { waitQuerySchema } from "./request-options.ts";

/** `DELETE /v1/assets/{asset_id}/edge/apps/{name}`: removes an app and streams the events. */
export function removeApp(api: Api, context: CommandContext): void {
  api.delete(
    "/v1/assets/:asset_id/edge/apps/:name",
    {
      schema: {
        ...commandSchema(),
        operationId: "removeApp",
        summary: "Remove App",
        description:
          "Stops and removes an app of the asset's device. Its data in directories of the device is not deleted. " +
          STREAM_DESCRIPTION,
        params: appParams,
        querystring: waitQuerySchema,
      },
      errorHandler: streamErrorHandler(context),
    },
    async (request, reply) => {
      const app = request.params.name;
      const waitForDeviceS = request.query.wait_for_device_s;
      return streamCommand(context, request, reply, {
        command: { action: "remove", spec: null },
        app,
        options: {},
        waitForDeviceS,
      });
    },
  );
}
