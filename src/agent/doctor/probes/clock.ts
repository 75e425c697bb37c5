import { deadline } from "../../../lib/clock.ts";
import { formatDuration } from "../../../lib/terminal/time.ts";
import { formatUtcMinute } from "../../core/text.ts";
import { isClockSet } from "../../core/traffic/day.ts";
import { controlPlaneEndpoint } from "../../net/endpoint.ts";
import { openControlPlaneStream } from "../../net/open-stream.ts";
import { openTls, readServerTime } from "../peer.ts";
import { bad, good, isPlaceholder, type ProbeContext, type Probe, settingsOf, warning } from "../probe.ts";

const MAX_TIME_MS = Date.UTC(2100, 0, 1);
/** Of the probe's time, for the control plane's answer. Milliseconds. */
const ANSWER_TIMEOUT_MS = 3_000;
/** A difference that an answer over a slow link does not explain. */
const MAX_DIFFERENCE_MS = 30_000;
const SYNCHRONISE =
  "sudo timedatectl set-ntp true, and see whether it works: timedatectl timesync-status, or chronyc tracking";

/** The clock shows the control plane's time, and something keeps it right. */
export const probeClock: Probe = async (context, signal) => {
  const now = context.clock.timeOfDay();
  const text = `It is ${formatUtcMinute(now)} UTC by this device's clock`;
  if (!isClockSet(now) || now >= MAX_TIME_MS)
    return bad(`${text}, which cannot be. With a wrong clock no certificate is valid.`, SYNCHRONISE);
  const server = await askControlPlane(context, signal);
  const difference = server === undefined ? 0 : context.clock.timeOfDay() - server.now;
  if (server !== undefined && Math.abs(difference) > MAX_DIFFERENCE_MS) {
    const wrong = `${text}, ${formatDifference(Math.abs(difference))} ${difference > 0 ? "ahead of" : "behind"} the control plane's`;
    return server.isCause
      ? bad(`${wrong}: its certificate is valid at one of the two times only.`, SYNCHRONISE)
      : warning(`${wrong}.`, SYNCHRONISE);
  }
  const { clock_synced: isSynchronised } = await context.readClock();
  if (isSynchronised === false) return warning(`${text}, and nothing synchronises it: it will drift.`, SYNCHRONISE);
  return good(`${text}${server === undefined ? "" : ", as by the control plane's"}.`);
};

interface ServerClock {
  readonly now: number;
  /** Whether the certificate is valid at the server's time and not at this device's. */
  readonly isCause: boolean;
}

/** Sends no secret: the certificate is not verified, and so neither is the time. */
async function askControlPlane(context: ProbeContext, signal: AbortSignal): Promise<ServerClock | undefined> {
  const settings = settingsOf(context);
  if (isPlaceholder(settings)) return undefined;
  const { control_plane_url: address } = settings;
  const { host } = controlPlaneEndpoint(address);
  using limit = deadline(context.clock, ANSWER_TIMEOUT_MS, signal);
  try {
    if (!address.startsWith("wss:")) {
      const stream = await openControlPlaneStream(address, undefined, limit.signal);
      const now = await readServerTime(stream, host, limit.signal);
      stream.destroy();
      return now === undefined ? undefined : { now, isCause: false };
    }
    using socket = await openTls(context, limit.signal);
    const { valid_from: from, valid_to: to } = socket.getPeerCertificate();
    const now = await readServerTime(socket, host, limit.signal);
    const isValidAt = (time: number): boolean => Date.parse(from) <= time && time <= Date.parse(to);
    return now === undefined ? undefined : { now, isCause: isValidAt(now) && !isValidAt(context.clock.timeOfDay()) };
  } catch {
    // Other checks report it.
    return undefined;
  }
}

const DAY_MS = 86_400_000;

function formatDifference(ms: number): string {
  return ms < 2 * DAY_MS ? formatDuration(ms / 1000) : `${Math.round(ms / DAY_MS)} days`;
}
