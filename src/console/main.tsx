/** The web console: mounts the frame. Everything it shows comes from the server by the client of this package. */
import { render } from 'preact';
import { Shell } from './shell.tsx';

render(<Shell />, document.getElementById('console')!);
