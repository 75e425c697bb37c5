import { engineRequest } from "../images.ts";
import type { Device } from "./device.ts";

/** What systemd shows of the agent's service on a device. */
export interface ServiceState {
  readonly activeState: string;
  readonly pid: number;
  /** How often systemd started it again by itself. */
  readonly restarts: number;
  readonly text: string;
}

/** Asks systemd about the agent. */
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

/** A container on the device, as the device's own engine shows it. */
export interface AppContainer {
  readonly id: string;
  readonly running: boolean;
  readonly startedAt: string;
}

/** Asks the device's own engine about a container; `undefined` where there is none of that name. */
export async function appContainer(device: Device, name: string): Promise<AppContainer | undefined> {
  const { status, body } = await engineRequest(await device.engineSocket(), "GET", `/containers/${name}/json`);
  if (status === 404) return undefined;
  const { Id, State } = JSON.parse(body) as { Id: string; State: { Running: boolean; StartedAt: string } };
  return { id: Id, running: State.Running, startedAt: State.StartedAt };
}
