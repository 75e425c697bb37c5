import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { containerOptionsSuite } from "./container-options.ts";

containerOptionsSuite(
  "an option of a container in Podman",
  async () => ({ kind: "podman", ...(await startPodman()) }),
  await podmanUnavailableReason(),
);
