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

const OTHERS = /^(?:service|container):/;

export const convertPid: Converter = (value, service) => {
  const mode = value.text();
  if (mode === undefined || mode === "") return;
  if (mode === "host") service.set("pid", mode, value.place);
  else if (OTHERS.test(mode))
    value.refuse("cannot have the processes of another service.", "Run both programs in one service, in one image.");
  else value.refuse("must be host.");
};

export const convertIpc: Converter = (value, service) => {
  const mode = value.text();
  if (mode === undefined || mode === "") return;
  if (mode === "host") service.set("ipc", mode, value.place);
  else if (mode === "shareable") value.note("is what private is: no other app can share the memory of this one.");
  else if (OTHERS.test(mode))
    value.refuse(
      "cannot have the shared memory of another service.",
      "Run both programs in one service, in one image.",
    );
  else if (mode !== "private") value.refuse("must be host, private or shareable.");
};

export const convertUserNamespace: Converter = (value) => {
  const mode = value.text();
  if (mode === undefined || mode === "") return;
  if (mode === "host")
    value.note(
      "is what apps have, unless the owner of the device has the engine map users (userns-remap): that stays.",
    );
  else value.refuse("must be host.");
};
