import type { AppSpec } from "../../protocol/app-spec.ts";
import type { ContainerRequest, DeviceRequest, HealthcheckRequest } from "../engine/engine.ts";

/** What the request to the engine has only where the specification does. */
export function requestExtras(spec: AppSpec): Partial<ContainerRequest> {
  const { command, cpu_limit, memory_limit, devices, healthcheck } = spec;
  return {
    ...(command && { command }),
    ...(cpu_limit !== undefined && { cpuLimit: cpu_limit }),
    ...(memory_limit !== undefined && { memoryLimit: memory_limit }),
    ...(devices && { devices: devices.map(toDevice) }),
    ...(healthcheck && { healthcheck: toHealthcheck(healthcheck) }),
  };
}

function toDevice({
  local,
  target = local,
  permissions = "rwm",
}: NonNullable<AppSpec["devices"]>[number]): DeviceRequest {
  return { local, target, permissions };
}

function toHealthcheck(check: NonNullable<AppSpec["healthcheck"]>): HealthcheckRequest {
  return {
    command: check.command,
    intervalS: check.interval_s,
    timeoutS: check.timeout_s,
    retries: check.retries,
    startPeriodS: check.start_period_s,
  };
}
