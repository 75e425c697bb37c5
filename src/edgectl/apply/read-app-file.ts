import { splitDeployRequest } from "../../protocol/deploy-request.ts";
import { type AppSpec, parseAppSpec } from "../../protocol/app-spec.ts";
import { MASK } from "../../lib/redact.ts";
import { type AppRequest, parseAppFile } from "../deploy/app-request.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usageFailure } from "../failure.ts";

/** An app as its file wants it. */
export interface DesiredApp {
  readonly spec: AppSpec;
  /** The file's fields that say how the deployment is carried out, such as `urgent`. */
  readonly options: AppRequest;
}

/** Parses the file of one app, in the format of the API's request. Errors: exit code 2; nothing repeats a value. */
export function parseDesiredApp(text: string, fileName: string): DesiredApp {
  const { spec: given, options } = splitDeployRequest(parseAppFile(text, fileName));
  const parsed = parseAppSpec(given);
  if (!parsed.ok) {
    const { message, code, details } = parsed.error;
    throw new Failure(`${fileName}: ${message}`, { exitCode: EXIT.usage, code, details });
  }
  const masked = parsed.spec.environments.filter(({ value }) => value === MASK).map(({ key }) => key);
  if (masked.length > 0) {
    throw usageFailure(
      `${fileName}: the value of ${masked.join(", ")} is "${MASK}", which the service shows in place of a value.`,
      "Write the value itself; `edgectl apps show ASSET APP --reveal` asks the device for it.",
    );
  }
  return { spec: parsed.spec, options };
}
