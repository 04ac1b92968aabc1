// Prepares a release: checks what must be true, runs all tests, packs, and installs the package into an empty project.
// It publishes nothing; the last lines are the commands that do.
//
//   node scripts/release.mjs              everything
//   node scripts/release.mjs --no-tests   without `npm test`, when it has just passed on this commit
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const flags = process.argv.slice(2);
const unknownFlag = flags.find((flag) => flag !== '--no-tests');
if (unknownFlag !== undefined) stop(`${unknownFlag} is not a flag of this script; it knows --no-tests.`, 2);

const read = (path) => readFileSync(join(root, path), 'utf8');
const { version } = JSON.parse(read('package.json'));

const WANTED = [
  [git('status', '--porcelain') === '', 'The tree has changes: commit or remove them.'],
  [/^\d+\.\d+\.\d+$/.test(version), `The version ${version} of package.json is not one to release.`],
  [
    JSON.parse(read('package-lock.json')).version === version,
    'package-lock.json has another version: run npm install.',
  ],
  [read('src/cli/version.ts').includes(`'${version}'`), `src/cli/version.ts does not say ${version}.`],
  [
    new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d{2}-\\d{2}$`, 'm').test(
      read('CHANGELOG.md'),
    ),
    `CHANGELOG.md has no heading "## [${version}] - ${new Date().toISOString().slice(0, 10)}".`,
  ],
  [git('tag', '--list', `v${version}`) === '', `The tag v${version} exists: raise the version.`],
];
const problems = WANTED.filter(([isSo]) => !isSo).map(([, sentence]) => sentence);
if (problems.length > 0) stop(problems.join('\n'), 1);

if (!flags.includes('--no-tests')) run('npm', ['test']);
run('npm', ['pack']);
const tarball = join(root, `leasehold-${version}.tgz`);
tryInEmptyProject();
console.log(`
${tarball} is ready. To release it:

  git tag v${version} && git push origin v${version}
  npm publish ${tarball} --access public`);

/** As a user would: install, import, require, and run a command. */
function tryInEmptyProject() {
  const dir = mkdtempSync(join(tmpdir(), 'leasehold-release-'));
  try {
    writeFileSync(join(dir, 'package.json'), '{ "private": true }\n');
    run('npm', ['install', '--no-audit', '--no-fund', tarball], dir);
    const work = `(async () => {
      const lh = await open('data');
      const { state } = await lh.call('task.create', { payload: 1 });
      await lh.close();
      if (state !== 'WAITING') throw new Error(state);
    })()`;
    run(
      process.execPath,
      ['--input-type=module', '-e', `import { open } from 'leasehold'; await ${work};`],
      dir,
    );
    run(
      process.execPath,
      ['--input-type=commonjs', '-e', `const { open } = require('leasehold'); ${work};`],
      dir,
    );
    run(
      process.execPath,
      [join(dir, 'node_modules', 'leasehold', 'dist', 'cli', 'main.js'), '--version'],
      dir,
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}

function run(command, args, cwd = root) {
  console.log(`release: ${[command, ...args].join(' ').slice(0, 100)}`);
  try {
    execFileSync(command, args, { cwd, stdio: 'inherit' });
  } catch (fault) {
    stop(`\`${command}\` failed (${fault.status ?? fault.signal}); nothing was released.`, 1);
  }
}

function stop(sentence, code) {
  console.error(sentence);
  process.exit(code);
}
