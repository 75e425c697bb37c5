import { splitDeployRequest } from "../../protocol/apps/deploy-request.ts";
import { parseRequestedAppSpec, type RequestedAppSpec } from "../../protocol/apps/app-spec.ts";
import { MASK } from "../../lib/redact.ts";
import { type AppRequest, parseAppFile } from "../deploy/app-request.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";

/** An app as its file wants it. */
export interface DesiredApp {
  /** A declared secret whose value is the mask keeps the value it has on the device. */
  readonly spec: RequestedAppSpec;
  /** The file's fields that say how the deployment is carried out, such as `urgent`. */
  readonly options: AppRequest;
}

/** Parses the file of one app, in the format of the API's request. Errors: exit code 2; nothing repeats a value. */
export function parseDesiredApp(text: string, fileName: string): DesiredApp {
  const { spec: given, options } = splitDeployRequest(parseAppFile(text, fileName));
  const parsed = parseRequestedAppSpec(withKeptSecrets(given));
  if (!parsed.ok) {
    const { message, code, details } = parsed.error;
    throw new Failure(`${fileName}: ${message}`, { exitCode: EXIT.usage, code, details });
  }
  const masked = parsed.spec.environments.filter(({ value, secret }) => value === MASK && !secret);
  if (masked.length > 0) {
    throw usageFailure(
      `${fileName}: the value of ${masked.map(({ key }) => key).join(", ")} is "${MASK}", which stands for a value that is not shown.`,
      "Write the value itself; `edgectl apps show ASSET APP --reveal` asks the device for it.",
    );
  }
  return { spec: parsed.spec, options };
}

/** Gives secrets without a value the mask as one, which in an update stands for the value on the device. */
function withKeptSecrets(app: AppRequest): AppRequest {
  const { environments } = app;
  if (!Array.isArray(environments)) return app;
  const filled = environments.map((entry: unknown) =>
    isSecretWithoutValue(entry) ? Object.assign({ value: MASK }, entry) : entry,
  );
  return { ...app, environments: filled };
}

function isSecretWithoutValue(entry: unknown): entry is object {
  return (
    typeof entry === "object" && entry !== null && "secret" in entry && entry.secret === true && !("value" in entry)
  );
}
