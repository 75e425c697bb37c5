import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { deployedContainerSuite } from "./deployed-container.ts";

deployedContainerSuite(
  "a container in Podman",
  async () => ({ kind: "podman", ...(await startPodman()) }),
  await podmanUnavailableReason(),
);
