import type { DisconnectReason } from "../../protocol/assets/connectivity.ts";
import { CLOSE_CODES } from "../../protocol/link/frames.ts";

const NORMAL_CLOSURE = 1000;
const NO_STATUS = 1005;

const REASONS: ReadonlyMap<number, DisconnectReason> = new Map([
  [NORMAL_CLOSURE, "closed"],
  [CLOSE_CODES.goingAway, "closed"],
  [NO_STATUS, "closed"],
  [CLOSE_CODES.restart, "service"],
  [CLOSE_CODES.internal, "service"],
  [CLOSE_CODES.tooBig, "refused"],
  [CLOSE_CODES.badFrame, "refused"],
  [CLOSE_CODES.unauthorized, "refused"],
  [CLOSE_CODES.unsupportedProtocol, "refused"],
]);

/** Returns why a device's connection ended, from the close code of whichever side closed it; `undefined`: neither did. */
export function disconnectReasonOf(code: number | undefined): DisconnectReason {
  return (code === undefined ? undefined : REASONS.get(code)) ?? "lost";
}
