import { engineRequest } from "../images.ts";
import type { Device } from "./device.ts";

/** systemd's state of the agent's service on a device. */
export interface ServiceState {
  readonly activeState: string;
  readonly pid: number;
  /** Number of automatic restarts by systemd. */
  readonly restarts: number;
  readonly text: string;
}

/** Reads the agent's service state from systemd. */
export async function serviceState(device: Device): Promise<ServiceState> {
  const output = await device.succeed("systemctl show edge-agent -p ActiveState,MainPID,NRestarts,StatusText");
  const facts = new Map(output.split("\n").map((line) => [line.split("=")[0], line.split("=").slice(1).join("=")]));
  return {
    activeState: facts.get("ActiveState") ?? "",
    pid: Number(facts.get("MainPID")),
    restarts: Number(facts.get("NRestarts")),
    text: facts.get("StatusText") ?? "",
  };
}

/** A container of the device's engine. */
export interface AppContainer {
  readonly id: string;
  readonly running: boolean;
  readonly startedAt: string;
}

/** Inspects a container of the device's engine; `undefined` if there is none of that name. */
export async function appContainer(device: Device, name: string): Promise<AppContainer | undefined> {
  const { status, body } = await engineRequest(device.engineSocket, "GET", `/containers/${name}/json`);
  if (status === 404) return undefined;
  const { Id, State } = JSON.parse(body) as { Id: string; State: { Running: boolean; StartedAt: string } };
  return { id: Id, running: State.Running, startedAt: State.StartedAt };
}
