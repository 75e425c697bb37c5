import type { ClientRequest, IncomingMessage } from "node:http";
import { toLinkConfig } from "../../link/to-link-config.ts";
import { outcomeOfHttpStatus } from "../../core/link/link-outcome.ts";
import { explainNetworkError } from "../../core/net/network-error.ts";
import { capitalize } from "../../core/text.ts";
import { createConnect } from "../../link/connect.ts";
import { bad, configOf, good, type ProbeContext, type Probe } from "../probe.ts";

/**
 * The control plane takes the device's token. Asks for a connection as the daemon does and gives it up before a word is
 * said, so that a daemon that is linked at this moment keeps its link.
 */
export const probeToken: Probe = async (patient, signal) => {
  try {
    const status = await handshake(patient, signal);
    if (status === 101) return good("The control plane takes it.");
    const isRefused = status === 401 || status === 403;
    return bad(
      `${capitalize(outcomeOfHttpStatus(status, undefined).reason)}.`,
      isRefused
        ? "Have an enrolment code made, and enrol the device again: edge-agent enroll --url URL --code CODE"
        : "See what the control plane's own log says at this time.",
    );
  } catch (error) {
    const why = signal.aborted ? "it does not answer" : explainNetworkError(error, patient.clock.now());
    return bad(
      `The control plane could not be asked: ${why}.`,
      "Is it a control plane that listens at control_plane_url?",
    );
  }
};

async function handshake(patient: ProbeContext, signal: AbortSignal): Promise<number> {
  const route = await createConnect(toLinkConfig(configOf(patient)), patient.agentVersion)(signal);
  const socket = route.open();
  return await new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      settle();
      socket.terminate();
    };
    socket.on("open", () => end(() => resolve(101)));
    socket.on("unexpected-response", (_request: ClientRequest, answer: IncomingMessage) =>
      end(() => resolve(answer.statusCode ?? 0)),
    );
    socket.on("error", reject);
    signal.addEventListener("abort", () => socket.terminate(), { once: true });
  });
}
