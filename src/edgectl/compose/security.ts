import type { Converter } from "./service.ts";

/** `KEY=VALUE`, or `KEY:VALUE` as it was written first. */
export const convertSecurityOptions: Converter = (value, service) => {
  for (const item of value.items()) {
    const text = item.text();
    if (text === undefined) continue;
    const [key = "", setting = ""] = text.split(/[:=](.*)/s);
    if (key === "no-new-privileges") {
      // `false` is the default.
      if (setting !== "false") service.append("security_opt", key, item.place);
    } else if (key === "seccomp" && setting !== "unconfined") {
      item.refuse(
        "can only be unconfined for seccomp: a profile of your own is not sent to devices.",
        "Remove it for the engine's own profile, which is stricter than none.",
      );
    } else service.append("security_opt", `${key}=${setting}`, item.place);
  }
};
