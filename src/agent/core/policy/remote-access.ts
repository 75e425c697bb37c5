import type { StreamKind } from "../../../protocol/link/streams.ts";
import type { PolicyViolation } from "./device-policy.ts";

/** What operators may reach from outside: nothing, the ports of apps, or commands and files of apps as well. */
export type RemoteAccess = "off" | "forward" | "exec";

const NEEDED: Readonly<Record<StreamKind, RemoteAccess>> = {
  forward: "forward",
  exec: "exec",
  read: "exec",
  write: "exec",
};

const TEXT: Readonly<Record<StreamKind, string>> = {
  forward: "connections to ports of apps",
  exec: "commands in apps",
  read: "copies of files from apps",
  write: "copies of files into apps",
};

/** Returns the violation if the device's policy forbids this kind of stream. */
export function findRemoteAccessViolation(kind: StreamKind, allowed: RemoteAccess): PolicyViolation | undefined {
  if (allowed === "exec" || allowed === NEEDED[kind]) return undefined;
  return {
    rule: "policy.remote_access",
    message: `This device does not allow ${TEXT[kind]}: policy.remote_access is ${allowed}, and has to be ${NEEDED[kind]}.`,
  };
}
