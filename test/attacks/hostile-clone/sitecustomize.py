open("@CANARY@", "a").write("sitecustomize\n")
