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

const LIFECYCLE_ACTIONS = {
  stop: {
    operationId: "stopApp",
    summary: "Stop App",
    description: "Stops an app. It stays installed, and stays stopped across reboots until it is started.",
  },
  start: { operationId: "startApp", summary: "Start App", description: "Starts a stopped app." },
  restart: {
    operationId: "restartApp",
    summary: "Restart App",
    description: "Stops an app and starts it again. A stopped app is started.",
  },
} as const;

/** `POST /v1/assets/{asset_id}/edge/apps/{name}/stop`, `…/start`, `…/restart`: each streams its events. */
export function appLifecycle(api: Api, context: CommandContext): void {
  for (const action of ["stop", "start", "restart"] as const) {
    const { operationId, summary, description } = LIFECYCLE_ACTIONS[action];
    api.post(
      `/v1/assets/:asset_id/edge/apps/:name/${action}`,
      {
        schema: {
          ...commandSchema(),
          operationId,
          summary,
          description: `${description} ${STREAM_DESCRIPTION}`,
          params: appParams,
          querystring: waitQuerySchema,
        },
        errorHandler: streamErrorHandler(context),
      },
      async (request, reply) => {
        const app = request.params.name;
        const waitForDeviceS = request.query.wait_for_device_s;
        return streamCommand(context, request, reply, {
          command: { action, spec: null },
          app,
          options: {},
          waitForDeviceS,
        });
      },
    );
  }
}
