echo "BASH_ENV" >> '@CANARY@'
