import type { Api, ApiContext } from "../context.ts";
import { appParams } from "./app-params.ts";
import { commandStream, refuseStream, STREAM_NOTE, streamCommand } from "./command-stream.ts";
import { ignoreTypeOfNoBody, refuseBody } from "./no-body.ts";

/** `DELETE /v1/assets/{asset_id}/edge/apps/{name}`: removes an app and streams how it goes. */
export function removeApp(api: Api, context: ApiContext): void {
  api.delete(
    "/v1/assets/:asset_id/edge/apps/:name",
    {
      schema: {
        ...commandStream(),
        operationId: "removeApp",
        summary: "Remove App",
        description:
          "Stops and removes an app of the asset's device. What it keeps in directories of the device is not deleted. " +
          STREAM_NOTE,
        params: appParams,
      },
      errorHandler: refuseStream(context),
      onRequest: ignoreTypeOfNoBody,
      preValidation: refuseBody,
    },
    async (request, reply) => {
      const app = request.params.name;
      return streamCommand(context, request, reply, { action: "remove", app, spec: null, options: {} });
    },
  );
}
