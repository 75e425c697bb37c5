import type { ClientRequest, IncomingMessage } from "node:http";
import { readBootId } from "../../host/boot-id.ts";
import { toLinkConfig } from "../../link/to-link-config.ts";
import { outcomeOfHttpStatus } from "../../core/link/link-outcome.ts";
import { explainNetworkError } from "../../core/net/network-error.ts";
import { capitalize } from "../../core/text.ts";
import { createConnect } from "../../link/connect.ts";
import { bad, configOf, good, type ProbeContext, type Probe } from "../probe.ts";

/**
 * The control plane accepts the device's token. Opens a WebSocket as the daemon does and closes it before `hello`, so that
 * a linked daemon keeps its session.
 */
export const probeToken: Probe = async (context, signal) => {
  try {
    const status = await handshake(context, signal);
    if (status === 101) return good("The control plane takes it.");
    const isRefused = status === 401 || status === 403 || status === 409;
    if (status === 404)
      return bad(
        `${capitalize(outcomeOfHttpStatus(status, undefined).reason)}.`,
        `Its path is usually /v1/agent. Correct it in ${context.configPath}, then: sudo edge-agent config check && sudo systemctl restart edge-agent`,
      );
    return bad(
      `${capitalize(outcomeOfHttpStatus(status, undefined).reason)}.`,
      isRefused
        ? "Have an enrolment code made, and enrol the device again: sudo edge-agent enroll --url URL --code CODE"
        : "See what the control plane's own log says at this time.",
    );
  } catch (error) {
    const why = signal.aborted ? "it does not answer" : explainNetworkError(error, context.clock.timeOfDay());
    return bad(
      `The control plane could not be asked: ${why}.`,
      "Is it a control plane that listens at control_plane_url?",
    );
  }
};

async function handshake(context: ProbeContext, signal: AbortSignal): Promise<number> {
  const route = await createConnect(toLinkConfig(configOf(context), readBootId()), context.agentVersion)(signal);
  const socket = route.open();
  return await new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      settle();
      socket.terminate();
    };
    socket.on("open", () => finish(() => resolve(101)));
    socket.on("unexpected-response", (_request: ClientRequest, response: IncomingMessage) =>
      finish(() => resolve(response.statusCode ?? 0)),
    );
    socket.on("error", reject);
    signal.addEventListener("abort", () => socket.terminate(), { once: true });
  });
}
