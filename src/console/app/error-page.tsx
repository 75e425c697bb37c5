import { Button, Container, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { useRouteError } from "react-router";
import { toFailure } from "../api/failure.ts";
import { FailureNote } from "../parts/failure-note.tsx";
import { PageTitle } from "../parts/page-title.tsx";

/** Shown in place of a page that failed to load or to render. */
export function ErrorPage(): ReactNode {
  const failure = toFailure(useRouteError());
  return (
    <Container size="sm" py="xl">
      <Stack>
        <PageTitle title="This page does not work" />
        <FailureNote failure={failure} />
        <Button onClick={() => location.reload()} style={{ alignSelf: "start" }}>
          Reload the page
        </Button>
      </Stack>
    </Container>
  );
}
